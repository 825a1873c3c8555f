import { watch } from 'node:fs';
import { build } from './build.mjs';
import { inRoot } from './project.mjs';
import { showFailure, step } from './steps.mjs';

const CALM = 300;

/**
 * `npm run dev`: rebuilds when a source file changes, and restarts the service if the build succeeded.
 * @param {() => Promise<void>} restart
 */
export function rebuildOnChange(restart) {
  let timer;
  let busy = Promise.resolve();
  watch(inRoot('src'), { recursive: true }, () => {
    clearTimeout(timer);
    // Waits briefly, because an editor may write several files, or one file in several steps.
    timer = setTimeout(() => (busy = busy.then(() => rebuild(restart))), CALM);
  });
}

async function rebuild(restart) {
  try {
    let changed = false;
    await step('Build', async () => (changed = await build()));
    if (changed) await restart();
  } catch (error) {
    showFailure(error);
  }
}
