import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVENT_CATALOGUE, EVENT_NAMES, EVENT_SUBSCRIPTIONS, eventsOf, withoutEffect } from './event-catalogue.js';
import type { EventMembers } from './event-type.js';

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../../docs/events.md'), 'utf8');

/** Returns the list of members in docs/events.md. The members of an object follow the object, with the object's name as a prefix. */
function membersList(members: EventMembers, prefix = ''): string[] {
  return Object.entries(members).flatMap(([name, { type, format, isOptional, properties, description }]) => {
    const kind = [format ?? (type === 'array' ? 'list' : type), ...(isOptional ? ['optional'] : [])].join(', ');
    return [`- \`${prefix}${name}\` (${kind}): ${description}`, ...membersList(properties ?? {}, `${prefix}${name}.`)];
  });
}

/** Returns the section about an event in docs/events.md. */
function sectionOf(name: (typeof EVENT_NAMES)[number]): string {
  const { description, permission, isOwnOnly, data } = EVENT_CATALOGUE[name];
  const groups = name.startsWith('approval.') ? ' and those of your approver groups' : '';
  const own = isOwnOnly ? ` Without \`audit:read\`, only your own${groups}.` : '';
  return [`### ${name}`, `${description} Permission: \`${permission}\`.${own}`, membersList(data).join('\n')].join(
    '\n\n',
  );
}

const sections = DOCUMENT.split(/^(?=### )/m)
  .slice(1)
  .map((section) => section.split(/^## /m)[0]?.trim())
  // Joins the lines of a paragraph.
  .map((section) => section?.replaceAll(/(?<!\n)\n(?=\w)/g, ' '));

describe('docs/events.md', () => {
  it.each(EVENT_NAMES)('describes %s as the catalogue does', (name) => {
    expect(sections).toContain(sectionOf(name));
  });

  it('describes no other event', () => {
    expect(sections).toHaveLength(EVENT_NAMES.length);
  });
});

describe('event subscriptions', () => {
  it('can be individual events, areas and all events; unknown names have no effect', () => {
    expect(EVENT_SUBSCRIPTIONS).toEqual(
      expect.arrayContaining(['*', 'alert.*', 'signing-request.*', 'signing-request.signed', 'hosts.key-changed']),
    );
    expect(withoutEffect(['*', 'alert.*', 'rotations.*', 'alert.open', 'webhook.test', 'signing-request'])).toEqual([
      'rotations.*',
      'alert.open',
      'webhook.test',
      'signing-request',
    ]);
  });

  it('match by whole names', () => {
    expect(eventsOf(['*'])).toEqual(EVENT_NAMES);
    expect(eventsOf(['alert.*', 'scan.failed'])).toEqual([
      'scan.failed',
      ...EVENT_NAMES.filter((name) => name.startsWith('alert.')),
    ]);
    expect(eventsOf(['sign', 'signing-request', 'sign-in'])).toEqual([]);
  });
});

describe('the catalogue', () => {
  it.each(EVENT_NAMES)('has a description and an example of every member of %s', (name) => {
    const { description, data } = EVENT_CATALOGUE[name];
    expect(description).toMatch(/^[A-Z].*\.$/);
    const check = (members: EventMembers) => {
      for (const member of Object.values(members)) {
        expect(member.description).toMatch(/\.$/);
        expect(member.example).toBeDefined();
        check(member.properties ?? {});
      }
    };
    check(data);
  });
});
