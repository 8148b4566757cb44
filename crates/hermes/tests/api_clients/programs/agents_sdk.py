"""The agent framework `openai-agents` of PyPI with the API server as its model.

Called with the name of a function; `API_BASE` and `API_KEY` say where.
"""

import asyncio
import os
import sys

from agents import Agent, ModelSettings, Runner, SQLiteSession, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from openai import AsyncOpenAI

BASE, KEY = os.environ["API_BASE"], os.environ["API_KEY"]
MODEL = "hermes-agent"
set_tracing_disabled(True)


def agent(kind):
    client = AsyncOpenAI(base_url=BASE, api_key=KEY, max_retries=0)
    return Agent(name="caller", instructions="Be brief.",
                 model=kind(model=MODEL, openai_client=client),
                 model_settings=ModelSettings(include_usage=True))


async def of_both_kinds():
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        calling = agent(kind)
        done = await Runner.run(calling, "hello")
        assert done.final_output == "Good day.", done
        assert done.context_wrapper.usage.total_tokens > 0, done.context_wrapper.usage
        streamed = Runner.run_streamed(calling, "tell me")
        deltas = [event.data.delta async for event in streamed.stream_events()
                  if event.type == "raw_response_event"
                  and event.data.type == "response.output_text.delta"]
        assert "".join(deltas) == "Ein Text in Stücken ✓" == streamed.final_output, deltas
        # The framework keeps the conversation and sends all of it.
        session = SQLiteSession(kind.__name__)
        await Runner.run(calling, "hello", session=session)
        done = await Runner.run(calling, "and now", session=session)
        assert done.final_output == "hello, and now", done


async def tool_calls():
    """Tools of the server run on the server; the framework sees the answer."""
    calling = agent(OpenAIChatCompletionsModel)
    done = await Runner.run(calling, "count in a chat")
    assert done.final_output == "It is forty-two.", done
    streamed = Runner.run_streamed(calling, "count in a helper")
    async for _ in streamed.stream_events():
        pass
    assert streamed.final_output == "It is forty-two.", streamed


asyncio.run(globals()[sys.argv[1]]())
