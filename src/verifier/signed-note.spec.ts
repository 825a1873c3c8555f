import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EMPTY_ROOT } from './merkle-tree.js';
import { noteText, openNote, signedNote } from './signed-note.js';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ type: 'spki', format: 'der' });

/** Returns a note with the given text, signed with the log key. */
function noteOver(text: string, origin = 'log.example/log'): string {
  const note = signedNote({ origin, size: 0, root: EMPTY_ROOT }, sign('sha256', Buffer.from(text), privateKey), spki);
  return `${text}\n${note.slice(note.indexOf('\n\n') + 2)}`;
}

describe('a checkpoint is accepted in one form only, even if the key signed another', () => {
  const root = randomBytes(32).toString('base64');
  const origin = 'log.example/log';

  it('as specified by tlog-checkpoint', () => {
    expect(openNote(noteOver(`${origin}\n7\n${root}\n`), spki)).toMatchObject({ origin, size: 7 });
    const empty = noteText({ origin, size: 0, root: EMPTY_ROOT });
    expect(openNote(noteOver(empty), spki)).toMatchObject({ size: 0, root: EMPTY_ROOT });
  });

  it.each([
    ['a root that is too short', `${origin}\n7\n${Buffer.alloc(31).toString('base64')}\n`],
    ['a root that is too long', `${origin}\n7\n${Buffer.alloc(33).toString('base64')}\n`],
    ['a root in base64url', `${origin}\n7\n${Buffer.alloc(32, 0xff).toString('base64url')}\n`],
    ['no root', `${origin}\n7\n\n`],
    ['an empty tree with a root of its own', `${origin}\n0\n${root}\n`],
    ['a size that is no number', `${origin}\n07\n${root}\n`],
    ['a negative size', `${origin}\n-1\n${root}\n`],
    ['a line more', `${origin}\n7\n${root}\nmore\n`],
  ])('but not with %s', (_what, text) => {
    expect(openNote(noteOver(text), spki)).toBeUndefined();
  });
});
