"""The speed of training and search, compared with other toolkits; nothing else imports it."""
