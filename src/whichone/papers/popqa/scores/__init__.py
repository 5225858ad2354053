"""PopQA's scores: is the answer in the output, at which popularity, and does retrieval help there?"""
