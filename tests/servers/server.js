// A server that uses what node has: files, the thread pool, worker threads. SIGTERM ends it by exit.
//
//     node server.js PORT FILE
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const { Worker, isMainThread, parentPort } = require('worker_threads');

function work(number) {
    const rows = [];
    for (let i = 0; i < 200; i++)
        rows.push({ id: i, name: 'row ' + (i * number) % 97 });
    rows.sort((a, b) => a.name < b.name ? -1 : 1);
    return JSON.stringify(rows).length;
}

function serve(port, file) {
    const workers = [new Worker(__filename), new Worker(__filename)];
    const waiting = new Map();
    let number = 0;
    for (const worker of workers)
        worker.on('message', ([id, size]) => {
            waiting.get(id)(size);
            waiting.delete(id);
        });
    const paths = {
        '/text': answer => answer('a short text'),
        '/file': answer => fs.readFile(file, (error, bytes) => answer(error ? null : String(bytes.length))),
        '/hash': answer => crypto.pbkdf2('secret', 'salt', 500, 32, 'sha256', (error, key) => answer(error ? null : key.toString('hex'))),
        '/work': answer => {
            waiting.set(++number, size => answer(String(size)));
            workers[number % 2].postMessage(number);
        },
    };
    const server = http.createServer((request, response) => {
        paths[request.url](text => {
            response.statusCode = text === null ? 500 : 200;
            response.end(text);
        });
    });
    server.listen(port, '127.0.0.1');
    process.on('SIGTERM', () => process.exit(0));
}

if (isMainThread)
    serve(Number(process.argv[2]), process.argv[3]);
else
    parentPort.on('message', id => parentPort.postMessage([id, work(id)]));
