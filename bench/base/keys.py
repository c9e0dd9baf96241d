"""Keys of CURVE for both ends of a measurement, which are nobody's: they protect nothing."""

from __future__ import annotations

SERVER = ("a%A<$05x<Hah!}PL6jb2}Xe[N5@pdMhRChD&7o8V", "<:vknEQnli+kt?E{PmK+58TKImKMblIJB!BEFpuy")
CLIENT = ("@FWjdduglR=oZ^wnkB.KK#-UgS5-<4*R*xlo<^MO", "K*XomFLExKkxTr!dS@IpI+@ZL:YB!G48hgv9Xad]")
"""Of each its public key and its secret one, in Z85."""
