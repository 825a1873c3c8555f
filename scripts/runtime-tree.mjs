import path from 'node:path';
import { runToEnd } from './lib/interruption.mjs';
import { writeRuntimeTree } from './lib/runtime-tree.mjs';

/** `node scripts/runtime-tree.mjs DIRECTORY`: copies what a built checkout needs at run time, for the image and the Debian package. */
async function main() {
  const [out] = process.argv.slice(2);
  if (out === undefined) {
    process.stderr.write('Usage: node scripts/runtime-tree.mjs DIRECTORY\n');
    return 2;
  }
  const { packages } = writeRuntimeTree(path.resolve(out));
  process.stdout.write(`${packages} packages in ${out}\n`);
  return 0;
}

await runToEnd(main, () => {});
