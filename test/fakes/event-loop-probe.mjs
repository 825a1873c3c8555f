import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const LOOK_EVERY_MS = 5;

// When preloaded into the api process, this module records in the file LOOP_FILE how long the event loop was busy without interruption, in milliseconds:
// {round, p99, max}. SIGUSR2 starts the next round. The probe measures the thread's CPU time between two samples, because load from other processes delays
// an event loop without keeping it busy.
if (isMainThread && basename(process.argv[1] ?? '') === 'main.js') {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let round = 0;
  let last = cpuMs();
  let busy = [];
  const write = () => {
    const sorted = busy.toSorted((a, b) => a - b);
    const [p99, max] = [sorted[Math.floor(sorted.length * 0.99)] ?? 0, sorted.at(-1) ?? 0];
    writeFileSync(process.env.LOOP_FILE, JSON.stringify({ round, p99, max }));
    // Excludes the time used by this probe.
    last = cpuMs();
  };
  setInterval(() => {
    const now = cpuMs();
    busy.push(now - last);
    last = now;
  }, LOOK_EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    round += 1;
    busy = [];
    write();
  });
  setInterval(write, 100).unref();
}
