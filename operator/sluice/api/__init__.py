"""What users write: the custom resources as pydantic models, and the CRDs made from them."""
