"""The steps of a write, each in a module, for verbs, subresources and controllers.

Start reading at `creating.create_object`, `updating.update_object` and `deleting.delete_object`; `actor.Actor` is for
writes without a request. `write` has the record of a write and the steps that all writes share.
"""
