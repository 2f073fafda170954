"""What do searchers see, and what does a refresh change for them?

`queries` reads what people ask into a `workload`; `terms` and `scoring` say how well pages fit it.
`matches` and `quality` measure answers exactly. `impact` estimates what each refresh gains, from
score-rank `curves`, `views` and `gain`, while `index` is updated.
"""
