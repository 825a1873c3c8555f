import { Content } from '@patternfly/react-core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { listUsers } from '../api/generated/sdk.gen.js';
import type { UserPage, UserView } from '../api/generated/types.gen.js';
import { useSession } from '../app/session.js';
import { useI18n } from '../i18n/i18n.js';
import type { Option } from './form-fields.js';

const PAGE_SIZE = 200;
const MAX_PAGES = 25;
const FRESH_MS = 300_000;
const MAX_SHOWN = 5;

async function readUsers(): Promise<readonly UserView[]> {
  const users: UserView[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES && cursor !== null; page += 1) {
    const query = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor }: UserPage = (await listUsers({ query })).data;
    users.push(...items);
    cursor = nextCursor;
  }
  return users;
}

/** Users, read once for all pages and kept for five minutes; disabled for callers without `users:read`. */
function useUsers(): UseQueryResult<readonly UserView[]> {
  const { may } = useSession();
  return useQuery({ queryKey: ['users'], queryFn: readUsers, enabled: may('users:read'), staleTime: FRESH_MS });
}

/** The users who can sign in, as choices of a form; undefined where they are not known. */
export function useUserOptions(): Option[] | undefined {
  return useUsers()
    .data?.filter(({ disabled }) => !disabled)
    .map(({ id, email }) => ({ value: id, label: email }));
}

/** Gives the name of a user by id; undefined where the reader may not see users, and for ids of API keys and OAuth clients. */
export function useNameOf(): (id: string) => string | undefined {
  const { caller } = useSession();
  const { data } = useUsers();
  return (id) => (id === caller?.id ? caller.name : data?.find((user) => user.id === id)?.email);
}

/** A user by name, or by id where the name is not known. */
export function Person({ id }: { id: string }) {
  const nameOf = useNameOf();
  return nameOf(id) ?? <span className="sw-mono">{id}</span>;
}

/** Several users: the first by name, the others as a number. */
export function People({ ids }: { ids: readonly string[] }) {
  const { t } = useI18n();
  const nameOf = useNameOf();
  const shown = ids.slice(0, MAX_SHOWN).map((id) => nameOf(id) ?? id);
  const more = ids.length - shown.length;
  return (
    <>
      {shown.join(', ')}
      {more > 0 && (
        <Content component="small" className="sw-muted">
          {t('people.more', { count: more })}
        </Content>
      )}
    </>
  );
}
