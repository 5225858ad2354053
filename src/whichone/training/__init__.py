"""Making retrievers and readers better at telling namesakes apart."""
