"""The routes beside the API: version, metrics, OpenAPI documents, health. The entry point is `application`."""
