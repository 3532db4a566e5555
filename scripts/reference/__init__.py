"""The pages of docs/reference/, each from the code that it is about."""
