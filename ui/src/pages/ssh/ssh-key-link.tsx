import { useQuery } from '@tanstack/react-query';
import { getSshKeyOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { Go } from '../../patterns/go.js';

/** SshKeyLink shows an SSH key by its comment or fingerprint. */
export function SshKeyLink({ id }: { id: string }) {
  const { data } = useQuery(getSshKeyOptions({ path: { id } }));
  return <Go to={`/ssh-keys/${id}`}>{data?.comment ?? data?.fingerprint ?? id}</Go>;
}
