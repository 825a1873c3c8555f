import path from 'node:path';
import { startPostgres, stopPostgres } from './postgres.mjs';
import { ownDirectory } from './private-files.mjs';
import { isAlive } from './processes.mjs';
import { startRedis, stopRedis } from './redis.mjs';
import { createToken } from './softhsm.mjs';
import { isHalted, step } from './steps.mjs';
import { NEEDS } from './system-packages.mjs';

const TOKEN_LABEL = 'sealwright';

/** needsForStores returns the programs needed to start the stores that are not configured. */
export function needsForStores(settings) {
  const needs = [];
  if (!settings.SVC_REDIS_URL) needs.push(NEEDS.redis);
  if (!settings.SVC_PKCS11_LIBRARY) needs.push(NEEDS.softhsm);
  return needs;
}

/**
 * startStores starts a private store for each store that `settings` does not name, in a subdirectory of `directory`.
 * @param {(server: Store) => void} started called for each server as soon as it runs
 * @returns {Promise<Record<string, string>>} settings and variables with which the service finds the stores
 * @typedef {{ name: string, pid: number, stop(): Promise<void>, kill(): Promise<void>, again(): Promise<Store> }} Store
 */
export async function startStores(directory, settings, started) {
  ownDirectory(directory);
  const found = {};
  if (!settings.SVC_DATABASE_URL) {
    const start = (log) => startPostgres({ dir: path.join(directory, 'postgres'), log });
    found.SVC_DATABASE_URL = (await startStore('PostgreSQL', start, started)).url;
  }
  if (!settings.SVC_REDIS_URL) {
    const start = () => startRedis({ dir: path.join(directory, 'redis') });
    found.SVC_REDIS_URL = (await startStore('Redis', start, started)).url;
  }
  if (!settings.SVC_PKCS11_LIBRARY) {
    const label = settings.SVC_PKCS11_TOKEN_LABEL || TOKEN_LABEL;
    const token = await step('SoftHSM token', () => createToken({ dir: path.join(directory, 'softhsm'), label }));
    found.SVC_PKCS11_LIBRARY = token.library;
    found.SVC_PKCS11_TOKEN_LABEL = token.label;
    found.SVC_PKCS11_PIN_FILE = token.pinFile;
    Object.assign(found, token.environment);
  }
  return found;
}

function startStore(name, start, started) {
  return step(name, async (note) => {
    const server = await start(note);
    const store = ({ pid, stop, kill }) => ({
      name,
      pid,
      stop,
      kill: () => kill(),
      again: async () => store(await start(() => {})),
    });
    started(store(server));
    note(`127.0.0.1:${server.port}${server.reused ? ', still running' : ''}`);
    return server;
  });
}

/** watchStores restarts each store in `running` that ends, on the same port, until all steps are halted. */
export function watchStores(running, note) {
  const look = async () => {
    for (const [index, store] of running.entries()) {
      if (!isHalted() && store.again !== undefined && !isAlive(store.pid)) running[index] = await again(store, note);
    }
  };
  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    await look();
    busy = false;
    if (isHalted()) clearInterval(timer);
  }, 500);
  timer.unref();
}

async function again(store, note) {
  try {
    const next = await store.again();
    // The shutdown began while this store was starting, so the shutdown did not stop this store.
    if (isHalted()) await next.stop();
    else note(`${store.name} exited and was restarted.`);
    return next;
  } catch (error) {
    note(`${store.name} exited and could not be restarted: ${error.message}`);
    return store;
  }
}

/** stopStores stops the running private stores of `directory`, regardless of which process started them. */
export async function stopStores(directory, settings) {
  if (!settings.SVC_REDIS_URL) await stopRedis(path.join(directory, 'redis'));
  if (!settings.SVC_DATABASE_URL) await stopPostgres(path.join(directory, 'postgres'));
}
