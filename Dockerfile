# docker build -t recrawl . && docker run --rm -v "$PWD:/data" recrawl plan my-crawl --budget 100
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[crawl,search,lab]'

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'recrawl[crawl,search,lab]' \
 && rm -rf /wheels \
 && useradd --create-home recrawl
USER recrawl
WORKDIR /data
ENTRYPOINT ["recrawl"]
CMD ["--help"]
