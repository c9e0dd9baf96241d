"""What a socket that follows a service goes by: its endpoints, and what connections say."""
