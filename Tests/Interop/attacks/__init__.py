"""The attacker's kit: what a hostile phone does to a watch that has an owner, made of Bumble and of raw SMP.

`kit.py` has the owner, the attacker and what they can see of the watch. Each attack is a test: it succeeded against a watch
once, or is known to succeed against watches that are made carelessly.
"""
