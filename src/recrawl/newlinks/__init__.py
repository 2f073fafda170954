"""The model of the policy `links`: how many new links would a visit show?"""
