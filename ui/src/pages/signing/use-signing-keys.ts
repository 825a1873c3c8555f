import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { listSigningKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import type { Option } from '../../patterns/form-fields.js';

/** Purposes of keys that sign files. OpenPGP, SSH and TLS signatures are composed by other programs. */
const FILE_PURPOSES = ['signing', 'code-signing', 'documents'];

/** useSigningKeys returns the keys that can sign files. The list is empty without `signing-keys:read`. */
export function useSigningKeys(): UseQueryResult<readonly SigningKeyView[], unknown> {
  const { may } = useSession();
  return useQuery({
    ...listSigningKeysOptions({ query: { limit: 200 } }),
    enabled: may('signing-keys:read'),
    select: ({ items }) => items.filter(({ state, purpose }) => state === 'ACTIVE' && FILE_PURPOSES.includes(purpose)),
  });
}

/** keyOption returns the label of a key in a choice. */
export const keyOption = ({ name, type }: SigningKeyView): Option => ({ value: name, label: `${name} (${type})` });
