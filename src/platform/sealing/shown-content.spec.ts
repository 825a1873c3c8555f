import { expect, it } from 'vitest';
import { shownContent } from './shown-content.js';

it('shows the columns of a row, but neither secrets nor long values', () => {
  const columns = { id: 'a', roles: ['admin'], password_hash: '$argon2id$secret', settings: { key: 'x'.repeat(400) } };
  const shown = JSON.parse(shownContent(JSON.stringify(['user_account', columns]))) as Record<string, unknown>;
  expect(shown).toMatchObject({
    id: 'a',
    roles: ['admin'],
    password_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  expect(shown['settings']).toMatch(/^sha256:[0-9a-f]{64}$/);
});
