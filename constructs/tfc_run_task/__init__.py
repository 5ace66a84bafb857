"""A run task of Terraform Cloud: a small server that is told of a run, judges its plan, and answers pass or fail.

Source of the protocol: HashiCorp, "Run Tasks Integration API" (request, signature, callback and outcomes), and "Run
task setup" for the verification request. Nothing here knows what a plan is: the judgement is the caller's.
"""
