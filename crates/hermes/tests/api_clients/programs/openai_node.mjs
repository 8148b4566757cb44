// The `openai` package of npm against the API server. The first argument is the package's entry.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [entry, scenario] = process.argv.slice(2);
const { default: OpenAI } = await import(pathToFileURL(entry).href);
const { API_BASE: baseURL, API_KEY: apiKey } = process.env;
const model = "hermes-agent";
const make = (options = {}) => new OpenAI({ baseURL, apiKey, maxRetries: 0, ...options });
const user = (content) => ({ role: "user", content });

async function refused(kind, status, promise, code) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof kind, `${error?.constructor?.name}: ${error}`);
    assert.equal(error.status, status);
    if (code) assert.equal(error.code, code);
    return true;
  });
}

const scenarios = {
  async chat() {
    const client = make();
    const models = [];
    for await (const one of client.models.list()) models.push(one.id);
    assert.deepEqual(models, [model]);
    const { data, response } = await client.chat.completions
      .create({ model, messages: [user("hello")] })
      .withResponse();
    assert.equal(data.choices[0].message.content, "Good day.");
    assert.equal(data.choices[0].finish_reason, "stop");
    assert.match(response.headers.get("x-hermes-session-id"), /^api-/);
    const stream = await client.chat.completions.create({
      model, messages: [user("tell me")], stream: true,
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
    assert.equal(text, "Ein Text in Stücken ✓");
    const runner = client.chat.completions.stream({ model, messages: [user("tell me")] });
    assert.equal(await runner.finalContent(), "Ein Text in Stücken ✓");
  },

  async tool_calls() {
    const client = make();
    const stream = await client.chat.completions.create({
      model, messages: [user("count in a chat")], stream: true,
    });
    const progress = [];
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? "";
      if (chunk.toolCallId) progress.push([chunk.tool, chunk.status]);
    }
    assert.deepEqual(progress, [["terminal", "running"], ["terminal", "completed"]]);
    assert.equal(text, "It is forty-two.");
    const runner = client.chat.completions.stream({ model, messages: [user("count in a helper")] });
    assert.equal(await runner.finalContent(), "It is forty-two.");
    const answer = await client.responses.create({ model, input: "count in a response" });
    assert.deepEqual(answer.output.map((item) => item.type),
      ["function_call", "function_call_output", "message"]);
    assert.equal(answer.output_text, "It is forty-two.");
  },

  async responses() {
    const client = make();
    const first = await client.responses.create({ model, input: "hello" });
    assert.equal(first.output_text, "Good day.");
    const second = await client.responses.create({
      model, input: "and now", previous_response_id: first.id,
    });
    assert.equal(second.output_text, "hello, and now");
    assert.equal((await client.responses.retrieve(second.id)).id, second.id);
    const stream = client.responses.stream({ model, input: "tell me" });
    let next = 0;
    for await (const event of stream) assert.equal(event.sequence_number, next++);
    assert.equal((await stream.finalResponse()).output_text, "Ein Text in Stücken ✓");
  },

  async errors() {
    const client = make();
    const ask = (text, other = client) =>
      other.chat.completions.create({ model, messages: [user(text)] });
    await refused(OpenAI.AuthenticationError, 401,
      ask("hello", make({ apiKey: "not-the-key-at-all" })), "invalid_api_key");
    await refused(OpenAI.NotFoundError, 404, client.models.retrieve("no-such-model"));
    await refused(OpenAI.BadRequestError, 400,
      client.chat.completions.create({ model, messages: [] }));
    await refused(OpenAI.InternalServerError, 502, ask("fail"), "agent_incomplete");
    const stream = await client.chat.completions.create({
      model, messages: [user("fail")], stream: true,
    });
    await assert.rejects(async () => { for await (const _ of stream); }, OpenAI.APIError);
  },

  async overload() {
    const client = make();
    const stream = await client.chat.completions.create({
      model, messages: [user("tell me slowly")], stream: true,
    });
    await stream[Symbol.asyncIterator]().next();
    const ask = (other) => other.chat.completions.create({ model, messages: [user("hello")] });
    await refused(OpenAI.RateLimitError, 429, ask(client), "rate_limit_exceeded");
    const answer = await ask(make({ maxRetries: 20 }));
    assert.equal(answer.choices[0].message.content, "Good day.");
    stream.controller.abort();
  },
};

await scenarios[scenario]();
