import { start, startApi, startWorker } from './start.js';

await start((config) => (config.answers ? startApi(config) : startWorker(config)));
