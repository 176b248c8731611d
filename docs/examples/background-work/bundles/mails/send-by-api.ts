import { type Mail, recordMail } from 'sinfonietta'

/** Sends a mail by the HTTP API of a service, which the profiler does not know. */
export function sendByApi(api: string, mail: Mail): Promise<{ id: string }> {
  const send = async () => {
    const response = await fetch(api, { method: 'POST', body: JSON.stringify(mail) })
    if (!response.ok) throw new Error(`The mail service answered ${response.status}.`)
    return (await response.json()) as { id: string }
  }
  return recordMail(mail, send, async () => ({ id: 'kept' }))
}
