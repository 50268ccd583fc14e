// What clients of npm make of `wallprof mcp`: every tool on a real recording, which names the planted function. The SDK's client shakes
// hands with the server; the other is of the protocol's revision 2026-07-28, which has no handshake.
//
// usage: node judge_mcp_client.js NODE_MODULES WALLPROF PROGRAM DIRECTORY
'use strict';
const assert = require('node:assert');
const path = require('node:path');
const { createRequire } = require('node:module');

const [modules, tool, program, directory] = process.argv.slice(2);
const from = createRequire(path.join(modules, 'none.js'));
const { Client } = from('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = from('@modelcontextprotocol/sdk/client/stdio.js');
const modern = {
    Client: from('@modelcontextprotocol/client').Client,
    StdioClientTransport: from('@modelcontextprotocol/client/stdio').StdioClientTransport,
};
const Ajv = from('ajv/dist/2020').default;

const patient = { timeout: 600000 };
const own = { command: tool, args: ['mcp'], cwd: directory, env: { ...process.env } };
const client = new Client({ name: 'judge', version: '1' });

async function call(name, args) {
    const result = await client.callTool({ name, arguments: args }, undefined, patient);
    assert.ok(!result.isError, `${name}: ${result.content[0].text}`);
    assert.ok(result.content[0].text.length <= 16000, `${name}: ${result.content[0].text.length} bytes`);
    if (result.structuredContent)
        assert.deepStrictEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent || result.content[0].text;
}

async function refused(name, args, expected) {
    const result = await client.callTool({ name, arguments: args }, undefined, patient);
    assert.ok(result.isError && result.content[0].text.includes(expected), JSON.stringify(result));
}

function isPlanted(explanation) {
    assert.strictEqual(explanation.version, 1);
    assert.strictEqual(explanation.findings[0].function, 'planted_mutex');
    assert.match(explanation.findings[0].why, /waiting for a lock/);
}

async function withoutHandshake(file) {
    const version = '2026-07-28';
    const one = new modern.Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode: { pin: version } } });
    await one.connect(new modern.StdioClientTransport(own));
    assert.strictEqual(one.getNegotiatedProtocolVersion(), version);
    assert.strictEqual((await one.listTools()).tools.length, 7);
    isPlanted((await one.callTool({ name: 'explain', arguments: { file } }, patient)).structuredContent);
    await one.close();
}

async function main() {
    await client.connect(new StdioClientTransport(own));
    assert.strictEqual(client.getServerVersion().name, 'wallprof');
    await client.ping();

    const { tools } = await client.listTools();
    assert.deepStrictEqual(tools.map((one) => one.name).sort(), ['blame', 'callers', 'diff', 'explain', 'record', 'summary', 'waits']);
    for (const one of tools)
        new Ajv({ strict: false }).compile(one.inputSchema);

    const recorded = await call('record', { command: [program, 'mutex'], output: 'before.pb.gz', seconds: 3600 });
    assert.deepStrictEqual(recorded.program, { status: 0, signal: null, reached_time_limit: false });
    isPlanted(recorded.explanation);
    const file = recorded.recording;
    isPlanted(await call('explain', { file, lines: 2 }));
    assert.match(await call('summary', { file, lines: 5 }), /planted_mutex: waiting for a lock/);
    const callers = await call('callers', { file, function: 'planted_mutex', callees: true });
    assert.strictEqual(callers.callers[0].function, 'handle');
    assert.ok(callers.callees.some((one) => one.function.includes('mutex_lock')), JSON.stringify(callers));

    const waits = await call('waits', { file });
    assert.ok(waits.waits.some((one) => one.kind === 'lock'), JSON.stringify(waits));

    const later = await call('record', { command: [program, 'sleep'] });
    assert.ok(path.isAbsolute(later.recording), later.recording);
    assert.match(await call('diff', { before: file, after: later.recording }), /planted_mutex/);

    await refused('explain', { file: 'none.pb.gz' }, 'none.pb.gz: No such file');
    await refused('explain', { file: program }, 'no profile');
    await refused('callers', { file, function: 'planted' }, 'planted_mutex');
    await refused('summary', { file, by: 'colour' }, "'by' must be one of");
    await refused('summary', { file, focus: '(' }, "'('");
    await assert.rejects(client.callTool({ name: 'fly', arguments: {} }), /Unknown tool: fly/);
    isPlanted(await call('explain', { file }));
    await client.close();
    await withoutHandshake(file);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
