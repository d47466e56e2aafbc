"""The stages of a write, each a module, for verbs, subresources and controllers.

Enter by `creating.create_object`, `updating.update_object`, `deleting.delete_object`, or by `actor.Actor` where no
request asks for the write. `write` has the record of a write and the stages that all share.
"""
