import { expect, it } from 'vitest';
import type { Approval } from '../model/approval.entity.js';
import { mailOf } from './notice-texts.js';

const APPROVAL = {
  title: 'Sign app.exe',
  policies: [{ name: 'Releases' }],
  stages: [{ group: 'Release team', threshold: 2 }],
  stage: 0,
  hash: Buffer.alloc(32),
  expiresAt: new Date('2037-01-01'),
  decidedAt: null,
  status: 'PENDING',
  requesterName: 'ada@example.org',
  ownerId: 'ada',
};

const textFor = (requestedBy: string) =>
  mailOf(
    'requested',
    { ...APPROVAL, requestedBy } as unknown as Approval,
    'ben@example.org',
    'https://sign.example.org',
  ).text;

it('names a person who requests approval', () => {
  expect(textFor('ada')).toContain('Requested by: ada@example.org\n');
});

it('does not show an API key or client with the name of a person as that person', () => {
  const line = 'Requested by: ada@example.org (a program, not a person; ID 01945f2e)\n';
  expect(textFor('01945f2e')).toContain(line);
});
