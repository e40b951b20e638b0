"""Speed of training and search, beside other toolkits; nothing else imports it."""
