"""Who is asking: the sandbox's signed tokens and its instance metadata service (the part Microsoft Entra and IMDS play
in Azure).
"""
