"""The judge of chat templates: Jinja2 as transformers sets it up, at a fixed time in UTC."""
import datetime

import transformers.utils.chat_template_utils as utils


def jinja_at(now_unix_seconds):
    """A function from a template's source to what renders it."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(now_unix_seconds, datetime.timezone.utc).replace(tzinfo=tz)

    utils.datetime = Clock
    return utils._compile_jinja_template
