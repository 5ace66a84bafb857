"""Real Terraform on simulated providers: no cloud, no credentials, no registry.

The way of a rehearsal: ``schemas`` recovers what each provider accepts from the installed cdktf wheels; ``server``
speaks Terraform's plugin protocol with them; ``planning`` decides what a plan says and ``world`` what exists;
``terraform`` runs the real program in a scratch copy, and ``rehearse`` takes a site's six stacks through it in order.
Everything it says is *simulated*: it proves our graph, not Google's answer.
"""
