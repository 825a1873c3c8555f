import { enableCompileCache, setSourceMapsSupport } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/**
 * V8 sizes heaps by the memory of the machine: on a large one it lets young objects take 128 MB before it looks which of them are still in use, and old ones grow
 * to several times what they were. An API has answers to give meanwhile. Background work waits for others most of its time, with a thousand connections
 * open, so a worker collects early instead. Set before the modules are loaded, which makes more garbage than anything after it.
 */
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--heap-growing-percent=30');
// As for a page in the background: what the start has left behind is collected soon, and little room is kept in advance (11 MB).
setFlagsFromString('--optimize-for-size');
// Code of the baseline compiler, most of it for what runs once at the start: 11 MB that gain background work nothing.
setFlagsFromString('--no-sparkplug');
// Errors tell lines of the sources; the maps of packages would take another 30 MB, whether they are asked for on the command line or not.
setSourceMapsSupport(true, { nodeModules: false });
// Made by the build, with these flags: V8 takes nothing that was compiled with others.
enableCompileCache(join(import.meta.dirname, 'compile-cache'));

const { start, startWorker } = await import('./start.js');
await start(startWorker);
