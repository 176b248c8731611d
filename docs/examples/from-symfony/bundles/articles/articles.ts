import { type Argument, HttpError } from 'sinfonietta'

/** An article. */
export interface Article {
  readonly slug: string
  readonly title: string
}

/** The source of articles. */
export interface Articles {
  find(slug: string): Promise<Article | undefined>
}

/** Creates an argument: the article that the route names, or a 404. */
export function createArticleArgument(articles: Articles): Argument<Article> {
  return async ({ attributes }) => {
    const slug = String(attributes.get('_route_params')?.slug)
    const article = await articles.find(slug)
    if (article === undefined) throw new HttpError(404, `There is no article "${slug}".`)
    return article
  }
}
