import type { LookupAddress } from 'node:dns';
import { expect, it } from 'vitest';
import { sharedLookup } from './shared-lookup.js';

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

function place() {
  let clock = 0;
  const asked: [string, Done][] = [];
  const lookup = sharedLookup(
    (name, _options, done) => void asked.push([name, done]),
    () => clock,
  );
  const answers: (string | null)[] = [];
  return {
    asked,
    answers,
    call: (name: string) => lookup(name, { all: true }, (error) => answers.push(error?.message ?? null)),
    after: (ms: number) => (clock += ms),
  };
}

it('a name that many wait for is looked up once', () => {
  const { asked, answers, call } = place();
  call('slow.example');
  call('slow.example');
  call('other.example');
  expect(asked.map(([name]) => name)).toEqual(['slow.example', 'other.example']);
  asked[0]?.[1](null, [{ address: '192.0.2.1', family: 4 }]);
  expect(answers).toEqual([null, null]);
  call('slow.example');
  expect(asked).toHaveLength(3);
});

it('a name whose servers did not answer in time is not looked up again for a minute', () => {
  const { asked, answers, call, after } = place();
  call('slow.example');
  after(10_000);
  asked[0]?.[1](new Error('ETIMEOUT'), []);
  call('slow.example');
  expect(asked).toHaveLength(1);
  expect(answers[1]).toMatch(/did not answer in time/);
  after(61_000);
  call('slow.example');
  expect(asked).toHaveLength(2);
});
