import asyncio
import importlib.util
import inspect
import json
import sys


async def finished(answer):
    return await answer


told = json.load(sys.stdin)
# What a handler prints is for whoever reads the log.
sys.stdout = sys.stderr
spec = importlib.util.spec_from_file_location("hermes_hook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["hermes_hook"] = module
spec.loader.exec_module(module)
answer = module.handle(told["event_type"], told["context"])
if inspect.isawaitable(answer):
    asyncio.run(finished(answer))
