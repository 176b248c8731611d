/** HTML that a helper vouches for: it is put into the page unescaped, also when it comes later. */
export class HtmlFragment {
  readonly content: string | Promise<string>

  constructor(content: string | Promise<string>) {
    this.content = content
  }
}
