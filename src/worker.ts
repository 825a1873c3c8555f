import { start, startWorker } from './start.js';

await start(startWorker);
