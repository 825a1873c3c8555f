import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { basename } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Preloaded into the API process, it keeps the delays of its event loop, in milliseconds, in the file LOOP_FILE: {round, p99, max}. SIGUSR2
// begins the next round.
if (isMainThread && basename(process.argv[1] ?? '') === 'main.js') {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  let round = 0;
  const write = () => {
    const [p99, max] = [delays.percentile(99) / 1e6, delays.max / 1e6];
    writeFileSync(process.env.LOOP_FILE, JSON.stringify({ round, p99, max }));
  };
  process.on('SIGUSR2', () => {
    round += 1;
    delays.reset();
    write();
  });
  setInterval(write, 100).unref();
}
