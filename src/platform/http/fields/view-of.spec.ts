import { describe, expect, it } from 'vitest';
import { present, viewOf } from './view-of.js';

class ServerView {
  id: string;
  name: string;
  owner?: string;
  isReachable: boolean;
}

const row = { id: 'a1', name: 'web-1', owner: null as string | null, passwordHash: 'secret' };

describe('viewOf', () => {
  it('copies only the declared properties', () => {
    const view = viewOf(ServerView, present(row), { isReachable: true });

    expect(Object.fromEntries(Object.entries(view))).toEqual({
      id: 'a1',
      name: 'web-1',
      owner: undefined,
      isReachable: true,
    });
    expect(JSON.stringify(view)).toBe('{"id":"a1","name":"web-1","isReachable":true}');
  });

  it('prefers a given value to the row value', () => {
    expect(viewOf(ServerView, present(row), { name: 'renamed', isReachable: false }).name).toBe('renamed');
  });

  it('copies the properties of the base class', () => {
    class DetailedServerView extends ServerView {
      port: number;
    }

    expect(viewOf(DetailedServerView, { ...present(row), port: 22 }, { isReachable: true })).toMatchObject({
      id: 'a1',
      port: 22,
    });
  });
});
