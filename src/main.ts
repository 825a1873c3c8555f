import { start, startApi } from './start.js';

await start((config) => (config.answers ? startApi(config) : import('./worker.js')));
