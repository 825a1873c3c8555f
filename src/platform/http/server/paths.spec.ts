import { describe, expect, it } from 'vitest';
import { TolerantPath } from './paths.js';

const path = new TolerantPath(
  new Map([
    ['/v1/kms/', '/v1/transit/'],
    ['/signserver/rest/', '/rest/'],
  ]),
);
const of = (url: string, method = 'POST') => path.of({ url, method });

describe('the route path', () => {
  it.each([
    ['/api/v1/sign/digest', '/api/v1/sign/digest'],
    ['/api/v1/sign/digest/', '/api/v1/sign/digest'],
    ['//api///v1/sign/digest//?a=//b/', '/api/v1/sign/digest?a=//b/'],
    ['/v1/kms/sign/release', '/v1/transit/sign/release'],
    ['/v1/kms/verify/release//sha2-256', '/v1/transit/verify/release/sha2-256'],
    ['/v1/kmsx/sign/release', '/v1/kmsx/sign/release'],
    ['/signserver/rest/v1/workers/release/process', '/rest/v1/workers/release/process'],
    ['//signserver//rest/v1/workers/release/process/', '/rest/v1/workers/release/process'],
    ['/signserver/adminweb', '/signserver/adminweb'],
    ['/tsa/', '/tsa'],
    ['/static/a//b/', '/static/a//b/'],
    ['/', '/'],
  ])('of %s is %s', (given, wanted) => {
    expect(of(given)).toBe(wanted);
  });

  it('keeps a trailing slash for DELETE and PATCH, because an empty ID is not the collection', () => {
    for (const method of ['DELETE', 'PATCH']) expect(of('/api/auth/sessions/', method)).toBe('/api/auth/sessions/');
  });
});
