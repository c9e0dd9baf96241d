"""What somebody is told who calls what is not here: names of other libraries, and of other roles.

Not here: what is here. Law: only words and descriptors; this room imports no other one.
"""
