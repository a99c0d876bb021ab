"""The page of recipes/bert_variants."""


def files(results):
    return {}
