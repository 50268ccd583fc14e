// What speedscope makes of a profile, by its released program in a page without a browser: the file is loaded as its
// command line program does it, and saved again by the key for that.
//
//     speedscope_read.js DIRECTORY_OF_NPM_READERS FILE
//
// Prints a list of profiles in JSON: name, unit, total, and stacks as pairs of names "root;caller;leaf" and weights.
'use strict';
const fs = require('fs');
const path = require('path');

const [packages, file] = process.argv.slice(2);
const {JSDOM, VirtualConsole} = require(path.resolve(packages, 'node_modules/jsdom'));
const release = path.resolve(packages, 'node_modules/speedscope/dist/release');
const TRIES = 1500, WAIT_MS = 20;

// What a page of jsdom's lacks. Drawing fails without WebGL, which does not keep it from loading.
function complete(window, saved) {
    window.TextDecoder = TextDecoder;
    window.TextEncoder = TextEncoder;
    window.matchMedia = () => ({matches: false, addEventListener() {}, addListener() {}});
    window.Element.prototype.scrollIntoView = () => {};
    window.alert = message => fail(message);
    window.URL.createObjectURL = blob => {
        const reader = new window.FileReader();
        reader.onload = () => saved(JSON.parse(reader.result));
        reader.readAsText(blob);
        return 'blob:saved';
    };
}

const log = [];

function fail(message) {
    console.error(`speedscope: ${file}: ${message}`);
    console.error(log.join('\n'));
    process.exit(1);
}

function open(saved) {
    const virtualConsole = new VirtualConsole();
    for (const kind of ['log', 'warn', 'error', 'jsdomError'])
        virtualConsole.on(kind, message => log.push(String(message)));
    const {window} = new JSDOM('<body></body>', {
        runScripts: 'outside-only', pretendToBeVisual: true, virtualConsole,
        url: 'http://localhost/#localProfilePath=/unused',
    });
    complete(window, saved);
    const program = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name));
    window.eval(fs.readFileSync(path.join(release, program), 'utf8'));
    return window;
}

// The key does nothing until the profile is there.
async function load() {
    return new Promise(async saved => {
        const window = open(saved);
        for (let i = 0, isLoading = false; i < TRIES; i++) {
            if (window.speedscope && !isLoading) {
                window.speedscope.loadFileFromBase64(path.basename(file), fs.readFileSync(file).toString('base64'));
                isLoading = true;
            }
            window.dispatchEvent(new window.KeyboardEvent('keydown', {key: 's', ctrlKey: true}));
            await new Promise(resolve => setTimeout(resolve, WAIT_MS));
        }
        fail('it was not loaded');
    });
}

function add(stacks, names, weight) {
    if (weight > 0)
        stacks.set(names, (stacks.get(names) || 0) + weight);
}

function stacksOf(profile, names) {
    const stacks = new Map();
    if (profile.type === 'sampled') {
        profile.samples.forEach((stack, i) => add(stacks, stack.map(frame => names[frame]).join(';'), profile.weights[i]));
        return stacks;
    }
    const open = [];
    let at = profile.startValue;
    for (const event of profile.events) {
        add(stacks, open.join(';'), event.at - at);
        at = event.at;
        if (event.type === 'O')
            open.push(names[event.frame]);
        else
            open.pop();
    }
    return stacks;
}

process.on('uncaughtException', error => fail(error.message));
load().then(group => {
    const names = group.shared.frames.map(frame => frame.name.replaceAll(';', ':'));
    console.log(JSON.stringify(group.profiles.map(profile => {
        const {name, unit, startValue, endValue} = profile;
        return {name, unit, total: endValue - startValue, stacks: [...stacksOf(profile, names)]};
    })));
    process.exit(0);
});
