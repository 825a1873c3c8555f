import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { AdminError } from '../command.js';

/**
 * prepareDirectory creates `path` and its missing parents with mode 0700 and checks that the account can write to it. prepareDirectory creates one level at
 * a time, because Node's recursive mkdir never returns below a directory in which mkdir always fails with ENOENT, such as /proc. Throws AdminError.
 * @param path absolute
 */
export async function prepareDirectory(path: string): Promise<void> {
  const existing = await nearestExisting(path);
  let created = existing;
  for (const name of relative(existing, path).split(sep).filter(Boolean)) {
    created = join(created, name);
    await mkdir(created, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      // A concurrent backup may create the same directory.
      if (error.code !== 'EEXIST') throw unusable(path, error.message);
    });
  }
  await access(path, constants.W_OK | constants.X_OK).catch((error: Error) => {
    throw unusable(path, error.message);
  });
}

async function nearestExisting(path: string): Promise<string> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return path;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) return nearestExisting(dirname(path));
    throw unusable(path, message);
  }
  throw unusable(path, `${path} is not a directory`);
}

function unusable(path: string, reason: string): AdminError {
  return new AdminError(
    `Cannot write a backup to ${path}: ${reason}. Choose a directory that this account can write to.`,
  );
}
