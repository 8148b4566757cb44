"""The `openai` package through a LiteLLM proxy, whose upstream is the API server.

Called with the name of a function; `API_BASE` and `API_KEY` are the proxy's.
"""

import os
import sys

import openai

BASE, KEY = os.environ["API_BASE"], os.environ["API_KEY"]
client = openai.OpenAI(base_url=BASE, api_key=KEY, max_retries=0)


def user(text):
    return {"role": "user", "content": text}


def everything():
    assert [model.id for model in client.models.list().data] == ["behind", "locked-out"]
    answer = client.chat.completions.create(model="behind", messages=[user("hello")])
    assert answer.choices[0].message.content == "Good day.", answer
    assert answer.usage.total_tokens > 0, answer
    for text, expected in (("tell me", "Ein Text in Stücken ✓"),
                           ("count in a chat", "It is forty-two.")):
        got = ""
        for chunk in client.chat.completions.create(model="behind", messages=[user(text)],
                                                    stream=True):
            for choice in chunk.choices:
                got += choice.delta.content or ""
        assert got == expected, got
    response = client.responses.create(model="behind", input="hello")
    assert response.output_text == "Good day.", response
    events = list(client.responses.create(model="behind", input="tell me", stream=True))
    text = "".join(event.delta for event in events
                   if event.type == "response.output_text.delta")
    assert text == "Ein Text in Stücken ✓", text
    try:
        client.chat.completions.create(model="locked-out", messages=[user("hello")])
    except openai.AuthenticationError as error:
        assert error.status_code == 401, error
    else:
        raise AssertionError("a wrong key of the proxy went through")


everything()
