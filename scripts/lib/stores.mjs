import path from 'node:path';
import { startPostgres, stopPostgres } from './postgres.mjs';
import { ownDirectory } from './private-files.mjs';
import { startRedis, stopRedis } from './redis.mjs';
import { createToken } from './softhsm.mjs';
import { step } from './steps.mjs';
import { NEEDS } from './system-packages.mjs';

const TOKEN_LABEL = 'sealwright';

/** What the stores that are not given by a setting need on this machine. */
export function needsForStores(settings) {
  const needs = [];
  if (!settings.SVC_REDIS_URL) needs.push(NEEDS.redis);
  if (!settings.SVC_PKCS11_LIBRARY) needs.push(NEEDS.softhsm);
  return needs;
}

/**
 * Starts a private store for each that `settings` does not name, each in its own directory below `directory`.
 * @param {(server: { stop(): Promise<void>, kill(): Promise<void> }) => void} started told of each server as soon as it runs
 * @returns {Promise<Record<string, string>>} the settings and variables with which the service finds them
 */
export async function startStores(directory, settings, started) {
  ownDirectory(directory);
  const found = {};
  if (!settings.SVC_DATABASE_URL) {
    await step('PostgreSQL', async (note) => {
      const postgres = await startPostgres({ dir: path.join(directory, 'postgres'), log: note });
      started(postgres);
      found.SVC_DATABASE_URL = postgres.url;
      note(`127.0.0.1:${postgres.port}${postgres.reused ? ', still running' : ''}`);
    });
  }
  if (!settings.SVC_REDIS_URL) {
    await step('Redis', async (note) => {
      const redis = await startRedis({ dir: path.join(directory, 'redis') });
      started(redis);
      found.SVC_REDIS_URL = redis.url;
      note(`127.0.0.1:${redis.port}${redis.reused ? ', still running' : ''}`);
    });
  }
  if (!settings.SVC_PKCS11_LIBRARY) {
    await step('SoftHSM token', async () => {
      const token = await createToken({
        dir: path.join(directory, 'softhsm'),
        label: settings.SVC_PKCS11_TOKEN_LABEL || TOKEN_LABEL,
      });
      found.SVC_PKCS11_LIBRARY = token.library;
      found.SVC_PKCS11_TOKEN_LABEL = token.label;
      found.SVC_PKCS11_PIN_FILE = token.pinFile;
      Object.assign(found, token.environment);
    });
  }
  return found;
}

/** Stops the private stores of `directory` that run, whoever started them. */
export async function stopStores(directory, settings) {
  if (!settings.SVC_REDIS_URL) await stopRedis(path.join(directory, 'redis'));
  if (!settings.SVC_DATABASE_URL) await stopPostgres(path.join(directory, 'postgres'));
}
