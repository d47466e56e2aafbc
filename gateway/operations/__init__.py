"""The routes beside the API: version, metrics, OpenAPI documents, health. Enter by `application`."""
